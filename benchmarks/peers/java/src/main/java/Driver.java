import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.StringJoiner;
import java.util.function.LongSupplier;

/**
 * The driver of the peers in Java.
 *
 * <p>Driver FOLDER PEER CHECKED BUILD_LIMIT EVENT_LIMIT SECONDS
 *
 * <p>Reads the files that peers_data.py writes, writes PEER.matches, and prints its figures as JSON: seconds of the
 * build, memory, and the nanoseconds of each call on an event that is built already.
 */
public final class Driver {
    private static final int MOST_CALLS = 20_000;
    private static final double WARM_CHUNK = 0.5; // seconds of calls between two looks at how fast they are
    private static final int WARM_CALLS = 100; // at least, in one chunk
    private static final double WARM_MOST = 20; // seconds
    private static final long LONG_CALL = 200_000; // ns of processor time

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        String name = arguments[1];
        int checkedMost = Integer.parseInt(arguments[2]);
        double buildLimit = Double.parseDouble(arguments[3]);
        double eventLimit = Double.parseDouble(arguments[4]);
        double seconds = Double.parseDouble(arguments[5]);
        Peer<?> peer = name.equals("event-ruler") ? new EventRuler() : new LuceneMonitor();
        run(peer, folder, name, checkedMost, buildLimit, eventLimit, seconds);
        System.exit(0); // Lucene's monitor has threads of its own
    }

    private static <E> void run(
            Peer<E> peer, Path folder, String name, int checkedMost, double buildLimit, double eventLimit, double seconds)
            throws Exception {
        List<String> rules = Files.readAllLines(folder.resolve(name + ".rules"));
        long before = memory("VmRSS:");
        long start = System.nanoTime();
        int added = 0;
        for (String rule : rules) {
            int tab = rule.indexOf('\t');
            peer.add(rule.substring(0, tab), rule.substring(tab + 1));
            added++;
            if (since(start) > buildLimit) {
                System.out.printf("{\"stopped\": \"built %d of %d rules in %.0f s\"}%n", added, rules.size(), buildLimit);
                return;
            }
        }
        peer.finish();
        double buildSeconds = since(start);
        long memory = memory("VmHWM:") - before;

        List<E> events = new ArrayList<>();
        List<String> documents = Files.readAllLines(folder.resolve("events.jsonl"));
        for (String document : documents) {
            events.add(peer.event(document));
        }

        List<String> matches = new ArrayList<>();
        start = System.nanoTime();
        for (E event : events.subList(0, Math.min(checkedMost, events.size()))) {
            matches.add(sorted(peer.match(event)));
            if (since(start) > eventLimit * checkedMost) {
                break;
            }
        }
        Files.write(folder.resolve(name + ".matches"), matches);

        warmUp(peer, events);
        LongSupplier clock = clock(peer, events);
        StringJoiner times = new StringJoiner(", ", "[", "]");
        long found = 0;
        start = System.nanoTime();
        for (int call = 0; call < MOST_CALLS && since(start) < seconds; call++) {
            E event = events.get(call % events.size());
            long begin = clock.getAsLong();
            List<String> ids = peer.match(event);
            times.add(Long.toString(clock.getAsLong() - begin));
            found += ids.size();
        }
        System.out.printf(
                "{\"build_seconds\": %f, \"memory_mb\": %f, \"checked\": %d, \"found\": %d, \"times\": %s}%n",
                buildSeconds, memory / 1024.0, matches.size(), found, times);
    }

    /** Calls until the compilers of the virtual machine have made it no faster for three chunks. */
    private static <E> void warmUp(Peer<E> peer, List<E> events) throws Exception {
        double best = Double.MAX_VALUE;
        long start = System.nanoTime();
        for (int idle = 0, next = 0; idle < 3 && since(start) < WARM_MOST; idle++) {
            long chunk = System.nanoTime();
            int calls = 0;
            while ((calls < WARM_CALLS || since(chunk) < WARM_CHUNK) && since(start) < WARM_MOST) {
                peer.match(events.get(next++ % events.size()));
                calls++;
            }
            double each = since(chunk) / Math.max(calls, 1);
            if (each < 0.9 * best) {
                idle = -1;
            }
            best = Math.min(best, each);
        }
    }

    /** Returns the clock of calls: the processor's for long ones, which a busy machine interrupts; it is slow to read. */
    private static <E> LongSupplier clock(Peer<E> peer, List<E> events) throws Exception {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long begin = threads.getCurrentThreadCpuTime();
        peer.match(events.get(0));
        boolean isLong = threads.getCurrentThreadCpuTime() - begin > LONG_CALL;
        return isLong ? threads::getCurrentThreadCpuTime : System::nanoTime;
    }

    private static double since(long start) {
        return (System.nanoTime() - start) / 1e9;
    }

    /** Returns ids without duplicates, in order, as a line. */
    private static String sorted(List<String> ids) {
        int[] numbers = ids.stream().mapToInt(Integer::parseInt).distinct().sorted().toArray();
        StringJoiner line = new StringJoiner(" ");
        Arrays.stream(numbers).forEach(number -> line.add(Integer.toString(number)));
        return line.toString();
    }

    private static long memory(String field) throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith(field)) {
                return Long.parseLong(line.split("\\s+")[1]);
            }
        }
        throw new IllegalStateException(field);
    }
}

import java.util.List;

/** What the driver asks of a system. E is the type of its events. */
interface Peer<E> {
    void add(String id, String rule) throws Exception;

    /** Ends the build. */
    void finish() throws Exception;

    /** Returns an event from a line of JSON. */
    E event(String document) throws Exception;

    List<String> match(E event) throws Exception;
}

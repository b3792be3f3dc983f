import java.util.List;
import software.amazon.event.ruler.Machine;

/** Patterns of event-ruler. A rule with several has its name several times, and matches if one of them does. */
final class EventRuler implements Peer<String> {
    private final Machine machine = new Machine();

    @Override
    public void add(String id, String rule) throws Exception {
        machine.addRule(id, rule);
    }

    @Override
    public void finish() {}

    @Override
    public String event(String document) {
        return document;
    }

    @Override
    public List<String> match(String event) throws Exception {
        return machine.rulesForJSONEvent(event);
    }
}

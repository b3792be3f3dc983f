import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.lucene.analysis.core.KeywordAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.IntPoint;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.Term;
import org.apache.lucene.monitor.MatchingQueries;
import org.apache.lucene.monitor.Monitor;
import org.apache.lucene.monitor.MonitorQuery;
import org.apache.lucene.monitor.QueryMatch;
import org.apache.lucene.monitor.TermFilteredPresearcher;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.TermQuery;

/**
 * Queries of Lucene's monitor. A value is a term of its attribute's field, a number also a point. The field HAS has the
 * names of all attributes, for tests that a missing attribute fails and for terms by which ranges are found.
 */
final class LuceneMonitor implements Peer<Document> {
    private static final String HAS = "*";
    private static final String POINT = "#";
    private static final int AT_ONCE = 1_000; // queries that are registered together

    private final ObjectMapper mapper = new ObjectMapper();
    private final List<MonitorQuery> waiting = new ArrayList<>();
    private final Monitor monitor;

    LuceneMonitor() throws IOException {
        IndexSearcher.setMaxClauseCount(1 << 20);
        monitor = new Monitor(new KeywordAnalyzer(), new TermFilteredPresearcher());
    }

    @Override
    public void add(String id, String rule) throws Exception {
        waiting.add(new MonitorQuery(id, query(mapper.readTree(rule))));
        if (waiting.size() == AT_ONCE) {
            finish();
        }
    }

    @Override
    public void finish() throws Exception {
        monitor.register(waiting);
        waiting.clear();
    }

    @Override
    public Document event(String document) throws Exception {
        Document made = new Document();
        mapper.readTree(document).fields().forEachRemaining(field -> {
            made.add(new StringField(HAS, field.getKey(), Field.Store.NO));
            made.add(new StringField(field.getKey(), field.getValue().asText(), Field.Store.NO));
            if (field.getValue().isInt()) {
                made.add(new IntPoint(field.getKey() + POINT, field.getValue().asInt()));
            }
        });
        return made;
    }

    @Override
    public List<String> match(Document event) throws Exception {
        MatchingQueries<QueryMatch> found = monitor.match(event, QueryMatch.SIMPLE_MATCHER);
        List<String> ids = new ArrayList<>();
        for (QueryMatch match : found.getMatches()) {
            ids.add(match.getQueryId());
        }
        return ids;
    }

    /** Returns the query of a rule as peers_rules.py writes it: a sign, and parts or an attribute and its constants. */
    private static Query query(JsonNode rule) {
        String sign = rule.get(0).asText();
        BooleanQuery.Builder made = new BooleanQuery.Builder();
        if (sign.equals("and") || sign.equals("or")) {
            for (int part = 1; part < rule.size(); part++) {
                made.add(query(rule.get(part)), sign.equals("and") ? Occur.MUST : Occur.SHOULD);
            }
            return made.build();
        }
        String name = rule.get(1).asText();
        JsonNode value = rule.get(2);
        switch (sign) {
            case "=":
                return new TermQuery(new Term(name, value.asText()));
            case "in":
                addValues(made, rule, name, Occur.SHOULD);
                return made.build();
            case "!=":
            case "not in":
                made.add(new TermQuery(new Term(HAS, name)), Occur.MUST);
                addValues(made, rule, name, Occur.MUST_NOT);
                return made.build();
            default:
                made.add(new TermQuery(new Term(HAS, name)), Occur.MUST);
                made.add(range(name + POINT, sign, value.asInt()), Occur.MUST);
                return made.build();
        }
    }

    private static void addValues(BooleanQuery.Builder made, JsonNode rule, String name, Occur occur) {
        for (int part = 2; part < rule.size(); part++) {
            made.add(new TermQuery(new Term(name, rule.get(part).asText())), occur);
        }
    }

    private static Query range(String field, String sign, int value) {
        switch (sign) {
            case "<":
                return IntPoint.newRangeQuery(field, Integer.MIN_VALUE, value - 1);
            case "<=":
                return IntPoint.newRangeQuery(field, Integer.MIN_VALUE, value);
            case ">":
                return IntPoint.newRangeQuery(field, value + 1, Integer.MAX_VALUE);
            default:
                return IntPoint.newRangeQuery(field, value, Integer.MAX_VALUE);
        }
    }
}

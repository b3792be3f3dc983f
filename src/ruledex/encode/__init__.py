"""From trees and events to flat arrays: dictionary, cells, Program, EventBatch."""

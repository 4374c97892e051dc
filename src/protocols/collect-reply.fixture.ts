import type { TurnEvent } from '../model/event.ts'
import type { Reply } from '../model/reply.ts'
import { createReplyCollector } from './shared/collect-reply.ts'

/** The answer that these events are the whole of. */
export function collectReply(events: Iterable<TurnEvent>): Reply {
  const collector = createReplyCollector()
  for (const event of events) collector.add(event)
  return collector.reply()
}

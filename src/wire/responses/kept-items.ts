import { type Fields, isObject } from '../../lib/is-object.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import type { MintIds } from '../mint-ids.ts'
import { isFramedSummary } from '../summary.ts'
import { isMessageThatStays, USER_BYTES_MAX } from './after-compaction.ts'
import { elementsOfBody } from './input-elements.ts'

/** Of a conversation that is short itself less stays word for word beside its summary: a quarter. */
const USER_SHARE = 4

/**
 * The messages that stay as they are when a conversation is made short at the endpoint, whose answer is the whole context
 * of the next request: what the system says, and the last of what the user has said.
 */
export function keptItems({ body }: Pick<ResponsesRequest, 'body'>, mint: MintIds): readonly Fields[] {
  const elements = elementsOfBody(body)
  const messages = elements.map((element) => JSON.parse(element.toString('utf8')) as Fields).filter(mayStay)
  const bytes = elements.reduce((sum, { length }) => sum + length, 0)
  let room = Math.min(USER_BYTES_MAX, Math.floor(bytes / USER_SHARE))
  const kept: Fields[] = []
  for (const message of messages.toReversed()) {
    const whole = wholeMessage(message, mint)
    if (message.role === 'user') room -= Buffer.byteLength(JSON.stringify(whole))
    if (message.role !== 'user' || room >= 0) kept.push(whole)
  }
  return kept.reverse()
}

const mayStay = (item: Fields): boolean => isMessageThatStays(item) && !isSummary(item)

/** An earlier summary is in the new one, and no word of the user's. */
const isSummary = ({ content }: Fields): boolean =>
  Array.isArray(content) && content.length === 1 && isObject(content[0]) && isFramedSummary(content[0].text)

/** With all that clients expect of an item that they are given. */
const wholeMessage = ({ role, content }: Fields, mint: MintIds): Fields => ({
  id: mint.itemId('msg'),
  type: 'message',
  role,
  status: 'completed',
  content: typeof content === 'string' ? [{ type: 'input_text', text: content }] : content,
})

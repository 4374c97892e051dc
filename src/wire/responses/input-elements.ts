import type { RequestBody } from '../../model/turn.ts'
import { arrayElements } from '../json/array-elements.ts'

const QUOTE = 0x22
const OPENING_BRACKET = 0x5b
const SPACE = 0x20

/** The items that a request was sent with. Where a name stands twice the last one counts, as for `JSON.parse`. */
export function elementsOfBody({ bytes, members }: RequestBody): Buffer[] {
  const member = members.findLast(({ name }) => name === 'input')
  return member === undefined ? [] : inputElements(bytes.subarray(member.valueStart, member.valueEnd))
}

/** The items of an input, each as JSON; a plain text is one message of its user. */
export function inputElements(input: Buffer): Buffer[] {
  if (input[0] === QUOTE) return [userMessage(input)]
  return input[0] === OPENING_BRACKET ? arrayElements(input).map(trim) : []
}

const userMessage = (text: Buffer): Buffer =>
  Buffer.concat([Buffer.from('{"type":"message","role":"user","content":'), text, Buffer.from('}')])

/** Without the space around it, so that the same item has the same bytes wherever it stands. */
function trim(element: Buffer): Buffer {
  let start = 0
  let end = element.length
  while (start < end && element[start]! <= SPACE) start++
  while (end > start && element[end - 1]! <= SPACE) end--
  return element.subarray(start, end)
}

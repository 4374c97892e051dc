import type { Fields } from '../../lib/is-object.ts'
import { createResponseObject, type ResponseOptions, type ResponseState } from './response-object.ts'

/**
 * What all frames of one answer share: the response that they tell of, and their numbers without a gap. One per turn; it
 * outlives a lane that failed before any content. Frames come as text, so that several leave as one Buffer, and get
 * their number when they are made: whatever is made has to be sent, in this order.
 */
export interface Framing {
  /** True once `response.created` has been said. */
  readonly isOpen: boolean
  /** `response.created` and `response.in_progress`, unless they have been said; nothing then. Comes before any other frame. */
  opening(): string
  /** One frame. Its type comes first, then its number, whatever the fields say of these two. */
  frame(type: string, fields: Fields): string
  /** One frame whose head was made by `frameHead`, and whose other members are JSON already, each behind a comma. */
  numbered(head: string, members: string): string
  /** Frames that differ in their words, which stand as a JSON string inside their members; all as a character for each byte. */
  numberedRun(
    head: string,
    around: { readonly before: string; readonly behind: string },
    pieces: readonly string[],
  ): Buffer
  /** One frame with the whole response object. */
  responseFrame(type: string, state: ResponseState): string
  /** The whole response object in a state. */
  responseJson(state: ResponseState): string
  /** From here on the body of the request is not needed. */
  forgetBody(): void
  /** A way back to here: what is made from now on will not be sent. */
  bookmark(): () => void
}

export const createFraming = (options: ResponseOptions): Framing => {
  const object = createResponseObject(options)
  let nextNumber = 0
  const framing = {
    isOpen: false,
    opening() {
      if (framing.isOpen) return ''
      framing.isOpen = true
      const begun = `,"response":${object.json({ status: 'in_progress', output: [] })}`
      return ['response.created', 'response.in_progress']
        .map((type) => framing.numbered(frameHead(type), begun))
        .join('')
    },
    frame(type: string, fields: Fields) {
      const { type: _type, sequence_number: _number, ...others } = fields
      const members = JSON.stringify(others).slice(1, -1)
      return framing.numbered(frameHead(type), members === '' ? '' : `,${members}`)
    },
    numbered(head: string, members: string) {
      const number = nextNumber
      nextNumber += 1
      return `${head}${number}${members}}\n\n`
    },
    numberedRun(head: string, { before, behind }: { before: string; behind: string }, pieces: readonly string[]) {
      let frames = ''
      for (const piece of pieces) frames += framing.numbered(head, before + piece + behind)
      return Buffer.from(frames, 'latin1')
    },
    responseFrame: (type: string, state: ResponseState) =>
      framing.numbered(frameHead(type), `,"response":${object.json(state)}`),
    responseJson: object.json,
    forgetBody: object.forgetBody,
    bookmark() {
      const then = { nextNumber, isOpen: framing.isOpen }
      return () => {
        nextNumber = then.nextNumber
        framing.isOpen = then.isOpen
      }
    },
  }
  return framing
}

/** A frame up to its number. The event's name is its type once more: clients look at one or the other. */
export const frameHead = (type: string): string => `event: ${type}\ndata: {"type":"${type}","sequence_number":`

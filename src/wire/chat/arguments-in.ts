import { endOfString } from '../json/measure-string.ts'
import { tryParse } from '../json/try-parse.ts'

/** `"` is escaped inside strings, so a member's name can only be found where it is one. */
const NAME = Buffer.from('"arguments"')
const OPENING = /^ ?: ?"/

/** The arguments in frames that nobody parses: enough of them to know where their strings and objects end. */
export function argumentsIn(frames: Buffer): string[] {
  const found: string[] = []
  for (let at = frames.indexOf(NAME); at !== -1; at = frames.indexOf(NAME, at)) {
    at += NAME.length
    const [opening] = OPENING.exec(frames.toString('latin1', at, at + 4)) ?? []
    const end = opening === undefined ? -1 : endOfString(frames, at + opening.length)
    if (opening === undefined || end === -1) continue
    const text = tryParse(frames.toString('latin1', at + opening.length - 1, end + 1))
    if (typeof text === 'string') found.push(text)
    at = end
  }
  return found
}

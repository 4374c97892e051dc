import { type JsonMember, memberBytes, type RequestBody, type TurnRequest } from '../../model/turn.ts'

/** A member as it goes to every lane: what was written anew at the door stands for what came, and what was dropped is not there. */
export function writtenMember(
  { body, rewritten }: Pick<TurnRequest, 'body' | 'rewritten'>,
  name: string,
): Buffer | undefined {
  const written = rewritten.get(name)
  return written === undefined ? memberBytes(body, name) : (written ?? undefined)
}

const NULL = Buffer.from('null')

/** Null is absent, everywhere: some clients write out every field that they know. Servers differ, and need not know. */
export const isNullMember = ({ bytes }: RequestBody, { valueStart, valueEnd }: JsonMember): boolean =>
  valueEnd - valueStart === NULL.length && bytes.compare(NULL, 0, NULL.length, valueStart, valueEnd) === 0

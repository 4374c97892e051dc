import type { JsonMember, RequestBody } from '../../model/turn.ts'

const NULL = Buffer.from('null')

/** Null is absent, everywhere: some clients write out every field that they know. Servers differ, and need not know. */
export const isNullMember = ({ bytes }: RequestBody, { valueStart, valueEnd }: JsonMember): boolean =>
  valueEnd - valueStart === NULL.length && bytes.compare(NULL, 0, NULL.length, valueStart, valueEnd) === 0

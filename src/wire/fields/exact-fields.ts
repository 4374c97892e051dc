import type { Fields } from '../../lib/is-object.ts'
import type { TurnRequest } from '../../model/turn.ts'
import { markNumbers } from '../json/exact-numbers.ts'
import { writtenMember } from '../json/members.ts'
import { parseInPieces } from '../json/parse-in-pieces.ts'

/** Fields with schemas, whose numbers have to keep their digits. In other settings only the value counts. */
const SCHEMAS = ['tools', 'functions', 'response_format', 'text']
/** Lists that contain schemas, or arguments as objects, only if one of these strings occurs in them. */
const LISTS: Readonly<Record<string, readonly string[]>> = {
  input: ['"additional_tools"'],
  messages: ['"arguments":{', '"arguments": {'],
}

/** The fields of a request, with each number marked that would change on its way to a provider. */
export async function withExactNumbers(request: TurnRequest, fields: Fields): Promise<Fields> {
  const exact = { ...fields }
  for (const name of [...SCHEMAS, ...Object.keys(LISTS)]) {
    const bytes = writtenMember(request, name)
    if (bytes === undefined || !(LISTS[name]?.some((word) => bytes.includes(word)) ?? true)) continue
    const marked = markNumbers(bytes)
    if (marked !== bytes) exact[name] = await parseInPieces(marked)
  }
  return exact
}

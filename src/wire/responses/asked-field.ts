import type { ResponsesRequest } from '../../model/turn.ts'
import { writtenMember } from '../json/members.ts'
import { tryParse } from '../json/try-parse.ts'

/**
 * What a request says in one of its fields, as every lane gets it; null counts as absent. It is parsed each time, because a
 * parsed value that lives as long as its turn takes ten times the memory of its bytes.
 */
export function askedField(request: Pick<ResponsesRequest, 'body' | 'rewritten'>, name: string): unknown {
  const written = writtenMember(request, name)
  return written === undefined ? undefined : (tryParse(written.toString('utf8')) ?? undefined)
}

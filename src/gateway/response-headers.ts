import type { RequestBody } from '../model/turn.ts'
import { isNullMember } from '../protocols/json/strings.ts'

const NAMED_MAX = 32
const NAME_LENGTH_MAX = 64
const NONE: ReadonlySet<string> = new Set()

/** Names that the client chose: in a header only plain ones may stand. */
const plainNames = (names: readonly string[]): string =>
  names
    .slice(0, NAMED_MAX)
    .map((name) => name.replace(/[^\w.-]/g, '?').slice(0, NAME_LENGTH_MAX))
    .join(', ')

/**
 * Nothing is dropped in silence: what a lane does not get is named. Null is absent, and nobody misses it. What was said of a lane
 * that was asked before is said no more.
 */
export function ignoredFieldsHeader(fields: readonly string[], body: RequestBody): Record<string, string | undefined> {
  const nulls = fields.length === 0 ? NONE : nullsOf(body)
  const missed = fields.filter((name) => !nulls.has(name))
  // Of items there may be more than a header takes.
  const isItem = (name: string): boolean => ITEM.test(name)
  const named = [...missed.filter((name) => !isItem(name)), ...missed.filter(isItem)]
  return { 'x-millrace-ignored-fields': missed.length === 0 ? undefined : plainNames(named) }
}

const ITEM = /^input\.\d+\./

const nullsOf = (body: RequestBody): ReadonlySet<string> =>
  new Set(body.members.filter((member) => isNullMember(body, member)).map(({ name }) => name))

export const ignoredToolsHeader = (tools: readonly string[]): Record<string, string> =>
  tools.length === 0 ? {} : { 'x-millrace-ignored-tools': plainNames(tools) }

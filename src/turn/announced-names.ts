const NAMED_MAX = 32
const NAME_LENGTH_MAX = 64

/** Names that the client chose: in a header only plain ones may stand. */
const plainNames = (names: readonly string[]): string =>
  names
    .slice(0, NAMED_MAX)
    .map((name) => name.replace(/[^\w.-]/g, '?').slice(0, NAME_LENGTH_MAX))
    .join(', ')

/** Nothing is dropped in silence: what a lane does not get is named. */
export const ignoredFieldsHeader = (fields: readonly string[]): Record<string, string> =>
  fields.length === 0 ? {} : { 'x-millrace-ignored-fields': plainNames(fields) }

export const ignoredToolsHeader = (tools: readonly string[]): Record<string, string> =>
  tools.length === 0 ? {} : { 'x-millrace-ignored-tools': plainNames(tools) }

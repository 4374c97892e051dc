import { RUN_TAG } from './run.ts'

/**
 * What a client says about a request in `x-millrace-tags`, for lists and reports: `repo=millrace, branch=main`. A name occurs once, so
 * the values of one name divide an account's usage.
 */
export const TAGS_MAX = 8
const NAME = /^[a-z][a-z0-9_.-]{0,31}$/
/** Visible ASCII characters without quotes and commas, which would need an escape. */
const VALUE = /^[\x21\x23-\x2b\x2d-\x7e]{1,64}$/

export type ReadTags =
  /** As the receipt has them. */
  { readonly kind: 'tags'; readonly tags: string | undefined } | { readonly kind: 'invalid'; readonly message: string }

/** `header` may come from several lines, which Node joins with commas. Empty parts are ignored, as in other lists of HTTP. */
export function readTags(header: string): ReadTags {
  const tags = new Map<string, string>()
  for (const part of header.split(',')) {
    const text = part.trim()
    if (text === '') continue
    const equals = text.indexOf('=')
    const [name, value] = [text.slice(0, Math.max(equals, 0)), text.slice(equals + 1)]
    const message = equals < 0 ? `${shown(text)} has no \`=\`` : problemOf(name, value, tags)
    if (message !== undefined)
      return { kind: 'invalid', message: `The header x-millrace-tags is invalid: ${message}. ${FORM}` }
    tags.set(name, value)
  }
  if (tags.size === 0) return { kind: 'tags', tags: undefined }
  return { kind: 'tags', tags: JSON.stringify([...tags].map(([name, value]) => `${name}:${value}`).sort()) }
}

const FORM = `Send up to ${TAGS_MAX} tags such as \`repo=millrace, branch=main\`.`

function problemOf(name: string, value: string, before: ReadonlyMap<string, string>): string | undefined {
  if (!NAME.test(name))
    return `${shown(name)} is not a name of 1 to 32 characters from a-z, 0-9, \`_\`, \`.\` and \`-\`, a letter first`
  if (!VALUE.test(value))
    return `the value of \`${name}\` is not 1 to 64 visible ASCII characters without \`,\` and \`"\``
  if (before.has(name)) return `\`${name}\` is given twice`
  if (name === STEP_TAG) return '`stepped-down` is set by this server'
  if (name === RUN_TAG) return '`run` is the run of the request, which the header x-millrace-run names'
  return before.size === TAGS_MAX ? `it has more than ${TAGS_MAX} tags` : undefined
}

/** The tags of a request of a CI job, which cannot give those of its token another value. */
export function withJobTags(sent: string | undefined, ofJob: string | null): ReadTags {
  const [own, fixed] = [sent, ofJob ?? undefined].map((tags) => new Set(tags && (JSON.parse(tags) as string[])))
  const fixedNames = new Set([...fixed!].map((tag) => splitTag(tag)[0]))
  const other = [...own!].find((tag) => fixedNames.has(splitTag(tag)[0]) && !fixed!.has(tag))
  const all = [...new Set([...own!, ...fixed!])].sort()
  const message =
    other === undefined
      ? all.length > TAGS_MAX && `there are more than ${TAGS_MAX} tags with those of the job's token`
      : `\`${splitTag(other)[0]}\` comes from the job's token`
  if (message)
    return { kind: 'invalid', message: `The header x-millrace-tags is invalid: ${message}. Send other tags.` }
  return { kind: 'tags', tags: all.length === 0 ? undefined : JSON.stringify(all) }
}

export const isTagName = (text: string): boolean => NAME.test(text) && text !== RUN_TAG && text !== STEP_TAG

const withTag = (tags: string | undefined, name: string, value: string): string =>
  JSON.stringify([...(tags === undefined ? [] : (JSON.parse(tags) as string[])), `${name}:${value}`].sort())

/** The tags of a request of a run. */
export const withRunTag = (tags: string | undefined, run: string): string => withTag(tags, RUN_TAG, run)

/** Names the model that was asked for where a cheaper one is used. */
const STEP_TAG = 'stepped-down'

export const withStepTag = (tags: string | undefined, model: string): string => withTag(tags, STEP_TAG, model)

const shown = (text: string): string => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)

/** The tags of a receipt by their names. */
export const tagsOf = (stored: string | null): Record<string, string> | null =>
  stored === null ? null : Object.fromEntries((JSON.parse(stored) as string[]).map(splitTag))

function splitTag(tag: string): [name: string, value: string] {
  const colon = tag.indexOf(':')
  return [tag.slice(0, colon), tag.slice(colon + 1)]
}

/** A tag as lists and reports name it: `repo:millrace`. */
export const isTag = (text: string): boolean => {
  const [name, value] = splitTag(text)
  return text.includes(':') && NAME.test(name) && VALUE.test(value)
}

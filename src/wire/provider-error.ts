import { isObject } from '../lib/is-object.ts'

/** What a provider said of a failure inside an answer. */
export interface UpstreamSaid {
  readonly message: string
  readonly code: string | undefined
  /** The family of the code, where the provider names both. */
  readonly type?: string
}

/** A server may have the field in every chunk, with nothing in it. */
export const isError = (error: unknown): boolean =>
  error !== undefined && error !== null && error !== false && error !== ''

/** Providers spell errors in many ways; a message and its code are all that is kept of them. */
export function readError(error: unknown): UpstreamSaid {
  if (typeof error === 'string') return { message: error, code: undefined }
  if (!isObject(error)) return { message: 'The provider reported an error.', code: undefined }
  const { message, code, type } = error
  const word = code ?? type
  const family = typeof type === 'string' && type !== word ? { type } : {}
  return {
    message: typeof message === 'string' ? message : 'The provider reported an error.',
    code: word === undefined || word === null ? undefined : String(word),
    ...family,
  }
}

import { isObject } from '../lib/is-object.ts'
import { tryParse } from './json/try-parse.ts'
import { inBounds, readErrorObject, type UpstreamSaid } from './provider-error.ts'

/** What a provider said when it refused, as far as it can be made out. None of it goes to the client as it is. */
export interface ProviderError extends UpstreamSaid {
  /** Undefined for an error inside an answer. */
  readonly status: number | undefined
  readonly param: string | undefined
}

/** A body may be any of the shapes that servers use, HTML, or nothing. */
export function readProviderError(status: number | undefined, body: Buffer): ProviderError {
  const text = body.toString('utf8')
  const said = readBody(tryParse(text)) ?? { message: plainText(text), code: undefined }
  return { ...said, status, param: said.param }
}

/** An error may stand in an object of its own, at the top, or (Google, asked for a stream) in a list. */
function readBody(parsed: unknown): UpstreamSaid | undefined {
  const [body] = Array.isArray(parsed) ? parsed : [parsed]
  return isObject(body) ? readErrorObject(isObject(body.error) ? body.error : body) : undefined
}

const plainText = (text: string): string => (text.trimStart().startsWith('<') ? '' : inBounds(text.trim()))

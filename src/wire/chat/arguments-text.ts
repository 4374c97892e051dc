import { isObject } from '../../lib/is-object.ts'

/** The arguments of a call as text: some clients, and some servers, send what they have parsed. */
export function argumentsText(args: unknown): string {
  if (typeof args === 'string') return args
  return isObject(args) || Array.isArray(args) ? JSON.stringify(args) : ''
}

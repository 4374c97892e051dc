import { type Problem, problem } from '../model/problem.ts'

/** Bodies are JSON in UTF-8 and say so; other parameters are allowed and mean nothing. */
export function refuseContentType(header: string | undefined): Problem | undefined {
  if (header === undefined || header.trim() === '') {
    return problem(
      'unsupported_media_type',
      'The Content-Type header is missing. Send "Content-Type: application/json".',
    )
  }
  if (header === 'application/json') return undefined
  const [type, ...parameters] = header.split(';').map((part) => part.trim().toLowerCase())
  if (type !== 'application/json') {
    return problem(
      'unsupported_media_type',
      `The Content-Type '${shown(header)}' is not supported. Send "application/json".`,
    )
  }
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length)
  if (charset === undefined || /^"?utf-?8"?$/.test(charset)) return undefined
  return problem(
    'unsupported_media_type',
    `The charset of '${shown(header)}' is not supported. Send the body as UTF-8.`,
  )
}

const shown = (header: string): string => header.slice(0, 80)

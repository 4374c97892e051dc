const ENVELOPE = ['code', 'message', 'param', 'request_id', 'source', 'type']
/** Of our insides nothing is shown. */
const INSIDES = /\n\s+at |node:internal|\[object |undefined is|is not a function|Cannot read/

/** What is wrong with what came back, in words; and the codes of errors. */
export function judge(request, { answers, hung, closed, rest }) {
  const found = []
  const codes = []
  if (hung) found.push('it hangs')
  // Where the server closes the connection, the client reads no further: a refusal of the parser has a body, whatever the
  // method.
  if (rest.length > 0 && !hung && !closed) found.push('there is more than the answer')
  if (request.isWhole && answers.length === 0 && !hung) found.push(closed ? 'closed without an answer' : 'no answer')
  for (const answer of answers) {
    const { status, headers, body } = answer
    const id = headers.get('x-request-id')
    // No model gives a summary in a handful of tokens: who allows it no more is told that there was none.
    if (!(status >= 200 && status < 500) && !(status === 503 && request.compacts)) found.push(`status ${status}`)
    if (!/^req_[0-9a-z]{20,}$/.test(id ?? '')) found.push(`its id is ${id}`)
    if (request.isHead) continue
    if (status >= 400) {
      const { problems, code } = judgeEnvelope(answer, id)
      found.push(...problems)
      codes.push(code)
    } else if (headers.get('content-type')?.startsWith('application/json') && !isJson(body)) {
      found.push('its JSON is none')
    }
  }
  return { found, codes }
}

function judgeEnvelope({ headers, body }, id) {
  const problems = []
  if (!headers.get('content-type')?.startsWith('application/json')) problems.push('an error that is not JSON')
  const { error } = parse(body) ?? {}
  if (error === null || typeof error !== 'object') return { problems: ['an error without an envelope'], code: 'none' }
  const names = Object.keys(error).sort()
  if (!ENVELOPE.every((name) => names.includes(name))) problems.push(`an envelope of ${names.join()}`)
  if (error.request_id !== id) problems.push('an envelope with another id')
  if (typeof error.code !== 'string' || typeof error.message !== 'string' || error.message === '')
    problems.push('an error without words')
  if (INSIDES.test(error.message)) problems.push('an error that shows our insides')
  return { problems, code: String(error.code) }
}

const isJson = (body) => parse(body) !== undefined

function parse(body) {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

const POLICY_BREACH = 'policyBreach'
const SERVER_FAULT = 500

/**
 * Collects in `complaints` what a page should never do: violate its content policy, throw, log an error, send requests to
 * another server or receive a 5xx. A 4xx is a regular response, so the browser's log line about it is ignored.
 */
export async function watchPages(context, origin) {
  const complaints = []
  const isOurs = (url) => url.startsWith(`${origin}/`) || url.startsWith('data:') || url.startsWith(`blob:${origin}/`)
  await context.exposeBinding(POLICY_BREACH, (_, violation) =>
    complaints.push(`violates the content policy: ${violation}`),
  )
  await context.addInitScript((name) => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      globalThis[name](`${violatedDirective} ${blockedURI}`)
    })
  }, POLICY_BREACH)
  context.on('weberror', (error) => complaints.push(`throws: ${error.error().message}`))
  context.on('console', (message) => {
    const text = message.text()
    const isRefusal = /^Failed to load resource: .* status of 4\d\d/.test(text)
    if (message.type() === 'error' && !isRefusal) complaints.push(`logs an error: ${text}`)
  })
  context.on('request', (request) => {
    if (!isOurs(request.url())) complaints.push(`requests ${request.url()}`)
  })
  context.on('response', (response) => {
    if (response.status() >= SERVER_FAULT) complaints.push(`got ${response.status()} from ${response.url()}`)
  })
  return complaints
}

import { type Problem, problem } from '../model/problem.ts'

/**
 * A key in a public web page is a key in everybody's hands. Browsers name the page's origin; programs on somebody's own
 * machine send none, a scheme of their own, or a loopback one.
 */
export function refuseOrigin(origin: string | undefined, allowed: readonly string[]): Problem | undefined {
  if (origin === undefined || !/^https?:/i.test(origin)) return undefined
  if (allowed.includes(origin) || isLoopback(origin)) return undefined
  return problem(
    'browser_not_allowed',
    'API keys must not be used in web pages, where every visitor can read them. Call from your server; ' +
      'the operator can allow an origin in the configuration.',
  )
}

function isLoopback(origin: string): boolean {
  if (!URL.canParse(origin)) return false
  const { hostname } = new URL(origin)
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname)
  )
}

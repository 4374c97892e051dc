const SECRET_LENGTH_MIN = 32

/** The secrets of a ring that was given as text, with spaces between; the first is the primary one. Undefined where one is too short. */
export function parseSecrets(text: string): readonly [string, ...string[]] | undefined {
  const [primary = '', ...others] = text.trim().split(/\s+/)
  return [primary, ...others].some((secret) => secret.length < SECRET_LENGTH_MIN) ? undefined : [primary, ...others]
}

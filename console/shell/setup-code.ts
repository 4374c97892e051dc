let code: string | undefined

/**
 * Takes the set-up code out of the address before anything else looks at it: whoever has the code becomes that person, so it
 * must not stay in the history, in a bookmark or on a screen that is shared.
 */
export function takeSetupCode(): void {
  const address = new URL(location.href)
  const given = address.searchParams.get('code')
  if (given === null || !address.pathname.endsWith('/setup')) return
  code = given
  address.searchParams.delete('code')
  history.replaceState(history.state, '', address)
}

export const setupCode = (): string | undefined => code

/** What stands behind the path; the first of a name that comes twice, and undefined for one that does not come. */
export function readQuery(target: string): (name: string) => string | undefined {
  const start = target.indexOf('?')
  const parameters = new URLSearchParams(start < 0 ? '' : target.slice(start + 1))
  return (name) => parameters.get(name) ?? undefined
}

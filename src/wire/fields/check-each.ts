import type { Problem } from '../../model/problem.ts'

/** What is wrong with the first element that something is wrong with; each is named by its place. */
export function checkEach(
  param: string,
  list: readonly unknown[],
  check: (param: string, element: unknown) => Problem | undefined,
): Problem | undefined {
  for (const [index, element] of list.entries()) {
    const found = check(`${param}[${index}]`, element)
    if (found) return found
  }
  return undefined
}

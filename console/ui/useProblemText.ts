import type { ConsoleProblem } from '../lib/console-problem.ts'
import { useWords } from '../words/WordsProvider.tsx'

/** A problem in the person's language where the catalogue knows its code, else in the server's own words. */
export function useProblemText(): (problem: ConsoleProblem) => string {
  const { problems } = useWords()
  return (problem) => {
    const known: Readonly<Record<string, string>> = problems
    return known[problem.code] ?? problem.message
  }
}

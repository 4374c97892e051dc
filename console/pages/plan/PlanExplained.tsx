import { Explained } from '../../ui/Explained.tsx'
import { useWords } from '../../words/WordsProvider.tsx'

const PARTS = ['all', 'full', 'wallet', 'hold'] as const

/** What counts, what happens at the end of a window, and what does not help. */
export function PlanExplained() {
  const { explained, explain } = useWords().plan
  return (
    <Explained title={explained} parts={PARTS.map((id) => ({ id, title: explain[id], text: explain[`${id}Text`] }))} />
  )
}

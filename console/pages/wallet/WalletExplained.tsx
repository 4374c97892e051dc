import { Explained } from '../../ui/Explained.tsx'
import { useWords } from '../../words/WordsProvider.tsx'

const PARTS = ['hold', 'charge', 'test', 'plan'] as const

/** Where money comes from, what a hold is, and what is charged. */
export function WalletExplained() {
  const { explained, explain } = useWords().wallet
  return (
    <Explained title={explained} parts={PARTS.map((id) => ({ id, title: explain[id], text: explain[`${id}Text`] }))} />
  )
}

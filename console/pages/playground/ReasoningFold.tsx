import { useWords } from '../../words/WordsProvider.tsx'

/** What the model thought on its way, folded: it is long, and not the answer. */
export function ReasoningFold({ text }: { text: string }) {
  const { playground } = useWords()
  return (
    <details className="rounded-md border border-line">
      <summary className="px-3 py-1.5 text-sm text-soft hover:text-ink">{playground.reasoning}</summary>
      <p className="border-t border-line px-3 py-2 text-sm break-words whitespace-pre-wrap text-soft">{text}</p>
    </details>
  )
}

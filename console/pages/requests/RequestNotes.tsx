import { Info } from 'lucide-react'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import type { RequestDetail } from './RequestDetailView.tsx'

/** What is out of the ordinary about it, in sentences. */
export function RequestNotes({ request }: { request: RequestDetail }) {
  const { requests } = useWords()
  const notes = useNotes(request)
  if (notes.length === 0) return null
  return (
    <section aria-label={requests.notes.title} className="rounded-xl bg-held-wash px-4 py-3 text-held">
      <ul className="grid gap-1.5">
        {notes.map((note) => (
          <li key={note} className="flex gap-2.5">
            <Info aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
            <span className="min-w-0">{note}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function useNotes({ cache_lost, compaction, shortfall }: RequestDetail): string[] {
  const { notes } = useWords().requests
  const formats = useFormats()
  const found: string[] = []
  if (cache_lost !== null) {
    found.push(notes.cacheLost(formats.count(cache_lost.tokens), formats.money(cache_lost.cost)))
  }
  if (compaction !== null) {
    found.push(notes.compaction(formats.count(compaction.tokens_before), formats.count(compaction.tokens_after)))
  }
  if (shortfall !== null && /[1-9]/.test(shortfall)) found.push(notes.shortfall(formats.money(shortfall)))
  return found
}

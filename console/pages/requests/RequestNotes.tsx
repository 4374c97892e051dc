import { Info } from 'lucide-react'
import type { ReactNode } from 'react'
import { MoneyText } from '../../ui/MoneyText.tsx'
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
        {notes.map(({ id, note }) => (
          <li key={id} className="flex gap-2.5">
            <Info aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
            <span className="min-w-0">{note}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

interface Note {
  readonly id: string
  readonly note: ReactNode
}

function useNotes({ cache_lost, compaction, shortfall }: RequestDetail): Note[] {
  const { notes } = useWords().requests
  const formats = useFormats()
  const found: Note[] = []
  if (cache_lost !== null) {
    const say = (cost: string) => notes.cacheLost(formats.count(cache_lost.tokens), cost)
    found.push({ id: 'cache', note: <MoneyText say={say} amounts={[cache_lost.cost]} /> })
  }
  if (compaction !== null) {
    const [before, after] = [formats.count(compaction.tokens_before), formats.count(compaction.tokens_after)]
    found.push({ id: 'compaction', note: notes.compaction(before, after) })
  }
  if (shortfall !== null && /[1-9]/.test(shortfall)) {
    found.push({ id: 'shortfall', note: <MoneyText say={notes.shortfall} amounts={[shortfall]} /> })
  }
  return found
}

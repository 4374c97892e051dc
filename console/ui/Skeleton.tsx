import { useEffect, useState } from 'react'
import { useWords } from '../words/WordsProvider.tsx'

/** What comes sooner than this needs no placeholder: it would only flicker. */
const PATIENCE_MS = 300

/** Grey lines where something is still on its way, once that takes long enough to be noticed. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  const { common } = useWords()
  const [late, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div aria-busy="true" className="grid min-h-8 gap-3" style={{ minBlockSize: `${lines * 1.75}rem` }}>
      {late && <span className="sr-only">{common.loading}</span>}
      {late &&
        Array.from({ length: lines }, (_, line) => `${70 + ((line * 37) % 30)}%`).map((width) => (
          <div key={width} className="breathe h-4 rounded bg-sunken" style={{ inlineSize: width }} />
        ))}
    </div>
  )
}

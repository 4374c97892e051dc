import { CloudSun, Code, type LucideIcon, MessageCircleQuestion, ScrollText } from 'lucide-react'
import type { Catalogue } from '../../words/catalogue.ts'
import { useWords } from '../../words/WordsProvider.tsx'

type ExampleId = keyof Catalogue['playground']['examples']

const ICONS: Readonly<Record<ExampleId, LucideIcon>> = {
  explain: MessageCircleQuestion,
  code: Code,
  tool: CloudSun,
  long: ScrollText,
}
const ORDER: readonly ExampleId[] = ['explain', 'code', 'tool', 'long']

/** Where nothing has been said yet: four things to say. They are put into the field, so that nothing is sent by a slip. */
export function Examples({ onPick }: { onPick: (id: ExampleId, prompt: string) => void }) {
  const { playground } = useWords()
  return (
    <div className="grid gap-3 py-4">
      <p className="text-center text-soft">{playground.examplesTitle}</p>
      <ul className="grid gap-2 sm:grid-cols-2">
        {ORDER.map((id) => {
          const Icon = ICONS[id]
          const { title, prompt } = playground.examples[id]
          return (
            <li key={id} className="grid">
              <button
                type="button"
                onClick={() => onPick(id, prompt)}
                className="flex items-start gap-3 rounded-lg border border-line p-3 text-start transition-colors hover:border-edge hover:bg-hover"
              >
                <Icon aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-accent" />
                <span className="grid gap-0.5">
                  <span className="font-medium">{title}</span>
                  <span className="text-sm text-soft">{prompt}</span>
                </span>
              </button>
            </li>
          )
        })}
      </ul>
    </div>
  )
}

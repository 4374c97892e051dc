import { CloudSun, Code, type LucideIcon, MessageCircleQuestion, ScrollText } from 'lucide-react'
import { type RefObject, useEffect, useRef } from 'react'
import type { Catalogue } from '../../../words/catalogue.ts'
import { useWords } from '../../../words/WordsProvider.tsx'
import { EXAMPLE_TOOLS } from '../settings/read-tools.ts'
import type { Conversation } from '../turn/useConversation.ts'
import { RunNote } from './AnswerFacts.tsx'
import { CallResults, Composer } from './Composer.tsx'
import { RunningAnswer, Talk } from './Talk.tsx'

interface TalkTabProps {
  readonly talk: Conversation
  readonly field: RefObject<HTMLTextAreaElement | null>
  readonly onTools: (tools: string) => void
}

/** Longer than this nobody wants an answer to be read to them in one breath. */
const SPOKEN_MAX = 4_000

export function TalkTab({ talk, field, onTools }: TalkTabProps) {
  const { run, said, running } = talk
  const end = useStayAtEnd(run)
  const pick = (id: string, prompt: string) => {
    if (id === 'tool') onTools(EXAMPLE_TOOLS)
    talk.setText(prompt)
    field.current?.focus()
  }
  return (
    <div className="grid grid-cols-1 gap-3">
      {said.length === 0 && !running && <Examples onPick={pick} />}
      <Talk said={said} onEdit={talk.edit} locked={running} />
      {running && run !== undefined && <RunningAnswer run={run} />}
      {run !== undefined && !running && <RunNote run={run} />}
      <Spoken talk={talk} />
      <div ref={end} className="border-t border-line pt-3">
        {talk.calls.length > 0 && !running ? (
          <CallResults key={said.length} calls={talk.calls} blocked={talk.blocked} onSend={talk.sendResults} />
        ) : (
          <Composer
            field={field}
            text={talk.text}
            onText={talk.setText}
            running={running}
            blocked={talk.blocked}
            again={talk.again}
            onSend={talk.send}
            onStop={talk.stop}
          />
        )}
      </div>
    </div>
  )
}

/** For whoever listens: the answer, once it is whole. */
function Spoken({ talk: { run } }: { talk: Conversation }) {
  const { playground } = useWords()
  const spoken =
    run === undefined || run.state === 'failed'
      ? ''
      : run.state === 'running'
        ? playground.waiting
        : run.answer.text.slice(0, SPOKEN_MAX)
  return (
    <p aria-live="polite" className="sr-only">
      {spoken}
    </p>
  )
}

type ExampleId = keyof Catalogue['playground']['examples']

const ICONS: Readonly<Record<ExampleId, LucideIcon>> = {
  explain: MessageCircleQuestion,
  code: Code,
  tool: CloudSun,
  long: ScrollText,
}
const ORDER: readonly ExampleId[] = ['explain', 'code', 'tool', 'long']

/** Where nothing has been said yet: four things to say. They are put into the field, so that nothing is sent by a slip. */
function Examples({ onPick }: { onPick: (id: ExampleId, prompt: string) => void }) {
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

/** How far from the end somebody may be and still want to see what comes. */
const NEAR_PX = 120

/** Keeps the end in sight while it moves away, unless somebody has scrolled up to read. */
function useStayAtEnd(moving: unknown): RefObject<HTMLDivElement | null> {
  const end = useRef<HTMLDivElement>(null)
  const near = useRef(true)
  useEffect(() => {
    const look = () => {
      near.current = document.documentElement.scrollHeight - innerHeight - scrollY < NEAR_PX
    }
    addEventListener('scroll', look, { passive: true })
    return () => removeEventListener('scroll', look)
  }, [])
  useEffect(() => {
    if (moving !== undefined && near.current) end.current?.scrollIntoView({ block: 'end' })
  }, [moving])
  return end
}

import { CodeBlock } from '../../ui/CodeBlock.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { AgentSettings } from './AgentSettings.tsx'
import type { ClientId, Snippet, Target } from './client-snippets.ts'

interface ClientPanelProps {
  readonly client: ClientId
  readonly target: Target
  readonly snippets: readonly Snippet[]
}

/** One program: what to copy where, and what to watch for. */
export function ClientPanel({ client, target, snippets }: ClientPanelProps) {
  const { connect } = useWords()
  return (
    <div className="grid grid-cols-1 items-start gap-x-8 gap-y-5 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
      <div className="grid grid-cols-1 gap-3">
        {client === 'agents' && <AgentSettings target={target} />}
        {snippets.map(({ label, code }) => (
          <CodeBlock key={code} label={'file' in label ? label.file : connect.labels[label.word]} code={code} />
        ))}
      </div>
      <section className="grid gap-2">
        <h2 className="font-semibold">{connect.watch}</h2>
        <ul className="grid list-disc gap-2 ps-5 text-soft marker:text-faint">
          {connect.notes[client].map((note) => (
            <li key={note} className="break-words">
              {note}
            </li>
          ))}
        </ul>
        <p className="text-sm text-faint">{connect.tried[client]}</p>
      </section>
    </div>
  )
}

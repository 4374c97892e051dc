import { type FormEvent, useState } from 'react'
import { Button } from '../../ui/Button.tsx'
import { Field } from '../../ui/Field.tsx'
import { TextArea } from '../../ui/TextArea.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import type { ToolCall } from './conversation.ts'

interface CallResultsProps {
  readonly calls: readonly ToolCall[]
  readonly blocked: boolean
  readonly onSend: (results: readonly { readonly call: string; readonly text: string }[]) => void
}

/** Whoever sits here is the tool: a field for what each call returns. */
export function CallResults({ calls, blocked, onSend }: CallResultsProps) {
  const { playground } = useWords()
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({})
  const send = (event: FormEvent) => {
    event.preventDefault()
    if (!blocked) onSend(calls.map(({ id }) => ({ call: id, text: typed[id] ?? '' })))
  }
  return (
    <form className="grid gap-3" onSubmit={send}>
      <div>
        <h2 className="font-semibold">{playground.calls}</h2>
        <p className="text-sm text-faint">{playground.callsText}</p>
      </div>
      {calls.map(({ id, name }, index) => (
        <Field key={id} label={playground.result(name)}>
          {(control) => (
            <TextArea
              {...control}
              // The answer has just asked for it.
              autoFocus={index === 0}
              rows={2}
              className="font-mono text-sm"
              value={typed[id] ?? ''}
              onChange={(event) => setTyped({ ...typed, [id]: event.target.value })}
            />
          )}
        </Field>
      ))}
      <div className="flex justify-end">
        <Button tone="primary" type="submit" disabled={blocked}>
          {playground.sendResults}
        </Button>
      </div>
    </form>
  )
}

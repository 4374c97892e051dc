import { Send, Square } from 'lucide-react'
import { type RefObject, useState } from 'react'
import { Button } from '../../../ui/Button.tsx'
import { Field } from '../../../ui/Field.tsx'
import { Form } from '../../../ui/Form.tsx'
import { TextArea } from '../../../ui/TextInput.tsx'
import { useMessages } from '../../../messages/MessagesProvider.tsx'
import type { ToolCall } from '../turn/conversation.ts'

interface ComposerProps {
  readonly field: RefObject<HTMLTextAreaElement | null>
  readonly text: string
  readonly onText: (text: string) => void
  readonly running: boolean
  /** The settings cannot be sent as they are. */
  readonly blocked: boolean
  /** The conversation waits for an answer already: sending needs no new words. */
  readonly again: boolean
  readonly onSend: () => void
  readonly onStop: () => void
}

const LINES_MAX = 12

export function Composer({ field, text, onText, running, blocked, again, onSend, onStop }: ComposerProps) {
  const { playground } = useMessages()
  const isAgain = again && text.trim() === ''
  const send = () => {
    onSend()
  }
  return (
    <Form className="grid gap-2" onSend={send}>
      <TextArea
        ref={field}
        aria-label={playground.message}
        placeholder={playground.messagePlaceholder}
        rows={Math.min(LINES_MAX, Math.max(3, text.split('\n').length + 1))}
        value={text}
        onChange={(event) => onText(event.target.value)}
      />
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="text-xs text-faint">{blocked ? playground.fixFirst : playground.sendKeys}</p>
        {running ? (
          <Button onClick={onStop}>
            <Square aria-hidden="true" />
            {playground.stop}
          </Button>
        ) : (
          <Button tone="primary" type="submit" disabled={blocked || (text.trim() === '' && !again)}>
            <Send aria-hidden="true" />
            {isAgain ? playground.sendAgain : playground.send}
          </Button>
        )}
      </div>
    </Form>
  )
}

interface CallResultsProps {
  readonly calls: readonly ToolCall[]
  readonly blocked: boolean
  readonly onSend: (results: readonly { readonly call: string; readonly text: string }[]) => void
}

/** Whoever sits here is the tool: a field for what each call returns. */
export function CallResults({ calls, blocked, onSend }: CallResultsProps) {
  const { playground } = useMessages()
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({})
  const send = () => {
    if (!blocked) onSend(calls.map(({ id }) => ({ call: id, text: typed[id] ?? '' })))
  }
  return (
    <Form className="grid gap-3" onSend={send}>
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
    </Form>
  )
}

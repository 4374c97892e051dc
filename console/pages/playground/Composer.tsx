import { Send, Square } from 'lucide-react'
import type { FormEvent, RefObject } from 'react'
import { Button } from '../../ui/Button.tsx'
import { TextArea } from '../../ui/TextArea.tsx'
import { useWords } from '../../words/WordsProvider.tsx'

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
  const { playground } = useWords()
  const isAgain = again && text.trim() === ''
  const send = (event: FormEvent) => {
    event.preventDefault()
    onSend()
  }
  return (
    <form className="grid gap-2" onSubmit={send}>
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
    </form>
  )
}

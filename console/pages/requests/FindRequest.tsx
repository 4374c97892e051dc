import { useNavigate } from '@tanstack/react-router'
import { useRef } from 'react'
import { useLetterKey } from '../../lib/useLetterKey.ts'
import { TextInput } from '../../ui/TextInput.tsx'
import { useWords } from '../../words/WordsProvider.tsx'

interface FindRequestProps {
  readonly text: string
  readonly onText: (text: string) => void
  /** The one that is left of those shown, if there is just one. */
  readonly only: string | undefined
}

/** Looks among those shown while somebody types; Enter opens the one that is left, or whichever has the whole id. */
export function FindRequest({ text, onText, only }: FindRequestProps) {
  const { requests } = useWords()
  const navigate = useNavigate()
  const input = useRef<HTMLInputElement>(null)
  useLetterKey('/', requests.findLabel, () => input.current?.focus())
  const open = () => {
    const request = only ?? (isWholeId(text) ? text.trim() : undefined)
    if (request !== undefined) void navigate({ to: '/requests/$request', params: { request } })
  }
  return (
    <search className="w-full sm:w-56">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          open()
        }}
      >
        <TextInput
          ref={input}
          type="search"
          spellCheck={false}
          aria-label={requests.findLabel}
          placeholder={`${requests.findLabel} ( / )`}
          value={text}
          onChange={(event) => onText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Escape') return
            onText('')
            input.current?.blur()
          }}
        />
      </form>
    </search>
  )
}

export const isWholeId = (text: string): boolean => /^req_\w{8,}$/.test(text.trim())

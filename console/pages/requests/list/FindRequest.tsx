import { Link, useNavigate } from '@tanstack/react-router'
import { ArrowLeftRight, SearchX } from 'lucide-react'
import { useRef } from 'react'
import { useLetterKey } from '../../../lib/letter-keys.ts'
import { buttonClass } from '../../../ui/Button.tsx'
import { Empty } from '../../../ui/Empty.tsx'
import { TextInput } from '../../../ui/TextInput.tsx'
import { useWords } from '../../../words/WordsProvider.tsx'

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

const isWholeId = (text: string): boolean => /^req_\w{8,}$/.test(text.trim())

/** Why there is nothing to see, and what helps. */
export function NoRequests({ filtered, text }: { filtered: boolean; text: string }) {
  const { empty, clear } = useWords().requests
  const request = text.trim()
  if (request !== '') {
    return (
      <Empty
        icon={SearchX}
        title={empty.notFoundTitle}
        text={empty.notFoundText}
        {...(isWholeId(request) && {
          action: (
            <Link to="/requests/$request" params={{ request }} className={buttonClass('primary')}>
              {empty.open(request)}
            </Link>
          ),
        })}
      />
    )
  }
  return filtered ? (
    <Empty
      icon={SearchX}
      title={empty.filteredTitle}
      text={empty.filteredText}
      action={
        <Link to="/requests" search={{}} className={buttonClass('plain')}>
          {clear}
        </Link>
      }
    />
  ) : (
    <Empty
      icon={ArrowLeftRight}
      title={empty.title}
      text={empty.text}
      action={
        <Link to="/connect" className={buttonClass('primary')}>
          {empty.action}
        </Link>
      }
    />
  )
}

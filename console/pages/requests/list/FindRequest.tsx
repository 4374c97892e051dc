import { Link, useNavigate } from '@tanstack/react-router'
import { ArrowLeftRight, SearchX } from 'lucide-react'
import { buttonClass } from '../../../ui/Button.tsx'
import { Empty } from '../../../ui/Empty.tsx'
import { Form } from '../../../ui/Form.tsx'
import { SearchInput } from '../../../ui/SearchInput.tsx'
import { useMessages } from '../../../messages/MessagesProvider.tsx'

interface FindRequestProps {
  readonly text: string
  readonly onText: (text: string) => void
  /** The one that is left of those shown, if there is just one. */
  readonly only: string | undefined
}

/** Looks among those shown while somebody types; Enter opens the one that is left, or whichever has the whole id. */
export function FindRequest({ text, onText, only }: FindRequestProps) {
  const { requests } = useMessages()
  const navigate = useNavigate()
  const open = () => {
    const request = only ?? (isWholeId(text) ? text.trim() : undefined)
    if (request !== undefined) void navigate({ to: '/requests/$request', params: { request } })
  }
  return (
    <search className="w-full sm:w-56">
      <Form className="" onSend={open}>
        <SearchInput
          label={requests.findLabel}
          value={text}
          onText={onText}
          onKeyDown={(event) => {
            if (event.key !== 'Escape') return
            onText('')
            event.currentTarget.blur()
          }}
        />
      </Form>
    </search>
  )
}

const isWholeId = (text: string): boolean => /^req_\w{8,}$/.test(text.trim())

/** Why there is nothing to see, and what helps. */
export function NoRequests({ filtered, text }: { filtered: boolean; text: string }) {
  const { empty, clear } = useMessages().requests
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

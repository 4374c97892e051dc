import { Link } from '@tanstack/react-router'
import { ArrowLeftRight, SearchX } from 'lucide-react'
import { buttonClass } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { isWholeId } from './FindRequest.tsx'

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

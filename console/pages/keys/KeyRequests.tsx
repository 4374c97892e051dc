import { Link } from '@tanstack/react-router'
import { useKeyRequests } from '../../questions/useKeyRequests.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { Answer, Panel } from '../../ui/Panel.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { LatestRequests } from '../requests/LatestRequests.tsx'

const SHOWN = 10

interface KeyRequestsProps {
  readonly keyId: string
  /** It is revoked: no first one will arrive. */
  readonly isOver: boolean
}

/** The last few requests of a key, as they come in. */
export function KeyRequests({ keyId, isOver }: KeyRequestsProps) {
  const { keys } = useWords()
  const question = useKeyRequests(keyId, SHOWN)
  const all = (
    <Link to="/requests" search={{ key: keyId }} className={buttonClass('quiet')}>
      {keys.allRequests}
    </Link>
  )
  const connect = (
    <Link to="/connect" className={buttonClass('plain')}>
      {keys.connect}
    </Link>
  )
  return (
    <Panel title={keys.recent} actions={all} padding="flush">
      <Answer question={question} lines={5}>
        {({ items }) => (
          <LatestRequests
            caption={keys.recent}
            requests={items}
            without={['key']}
            none={{ title: keys.noRequests, ...(!isOver && { text: keys.noRequestsText, action: connect }) }}
          />
        )}
      </Answer>
    </Panel>
  )
}

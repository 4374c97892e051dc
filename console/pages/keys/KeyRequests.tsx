import { Link } from '@tanstack/react-router'
import { useKeyRequests } from '../../questions/useKeyRequests.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { Answer, Panel } from '../../ui/Panel.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { LatestRequests } from '../requests/LatestRequests.tsx'

const SHOWN = 10

/** The last few requests of a key. */
export function KeyRequests({ keyId }: { keyId: string }) {
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
            none={{ title: keys.noRequests, text: keys.noRequestsText, action: connect }}
          />
        )}
      </Answer>
    </Panel>
  )
}

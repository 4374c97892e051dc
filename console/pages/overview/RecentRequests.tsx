import { Link } from '@tanstack/react-router'
import { buttonClass } from '../../ui/Button.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { LatestRequests } from '../requests/LatestRequests.tsx'
import type { Standing } from './StandingTiles.tsx'

/** The latest requests of the account. */
export function RecentRequests({ requests }: { requests: Standing['recent'] }) {
  const { overview: words } = useWords()
  return (
    <Panel
      title={words.recent}
      padding="flush"
      actions={
        <Link to="/requests" className="text-sm text-accent hover:underline">
          {words.moreRequests}
        </Link>
      }
    >
      <LatestRequests
        caption={words.recent}
        requests={requests}
        none={{
          title: words.noRecent.title,
          text: words.noRecent.text,
          action: (
            <Link to="/connect" className={buttonClass('plain')}>
              {words.noRecent.action}
            </Link>
          ),
        }}
      />
    </Panel>
  )
}

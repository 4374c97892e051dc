import { Link } from '@tanstack/react-router'
import { buttonClass } from '../ui/Button.tsx'
import { Empty } from '../ui/Empty.tsx'
import { Page, PageHeader } from '../ui/Page.tsx'
import { useMessages } from '../messages/MessagesProvider.tsx'

export function NotFound() {
  const { notFound } = useMessages().shell
  return (
    <Page>
      <PageHeader title={notFound.title} />
      <Empty
        title={notFound.text}
        action={
          <Link to="/" className={buttonClass('primary')}>
            {notFound.back}
          </Link>
        }
      />
    </Page>
  )
}

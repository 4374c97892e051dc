import { Button } from '../ui/Button.tsx'
import { PageHeader } from '../ui/Page.tsx'
import { ProblemNote } from '../ui/ProblemNote.tsx'
import { useWords } from '../words/WordsProvider.tsx'

/** A page that threw, or whose files are gone because the server was renewed meanwhile: loading anew mends both. */
export function PageFailed({ error }: { error: unknown }) {
  const { problems } = useWords()
  return (
    <div className="grid gap-4 p-4">
      <PageHeader title={problems.title} about={problems.pageFailed} />
      <ProblemNote error={error} />
      <div>
        <Button tone="primary" onClick={() => location.reload()}>
          {problems.reload}
        </Button>
      </div>
    </div>
  )
}

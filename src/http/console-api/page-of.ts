import { type PageArgs, pageArgs } from '../../account/pages.ts'

/** A page as the use cases ask for one, of a query whose parts are there or not. */
export const pageOf = ({ after, limit }: { after?: string | undefined; limit?: number | undefined }): PageArgs =>
  pageArgs.parse({ ...(after !== undefined && { after }), ...(limit !== undefined && { limit }) })

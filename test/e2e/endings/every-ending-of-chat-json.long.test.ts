import { describeColumn } from './describe-column.ts'

describeColumn('chat JSON')

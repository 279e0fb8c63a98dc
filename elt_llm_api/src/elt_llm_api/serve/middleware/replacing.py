"""An answer that can be taken back before it began: for guards that find out while the app is reading."""

from starlette.requests import ClientDisconnect

from elt_llm_api.serve.asgi import App, Message, Receive, Scope, Send


class Replaceable:
    """Passes an app's answer on until it is replaced; from then on the app speaks to nobody."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False
        self.replaced = False

    def replace(self) -> None:
        """Let nothing more of the app's answer through."""
        self.replaced = True

    async def of(self, app: App, scope: Scope, receive: Receive) -> bool:
        """Run the app; whether another answer is to be sent in place of its own.

        The app is told that its client left, which every framework knows how to end on; what it raises for that goes no
        further.
        """
        try:
            await app(scope, receive, self._passed)
        except ClientDisconnect:
            if not self.replaced:
                raise
        return self.replaced and not self._begun

    async def _passed(self, message: Message) -> None:
        if self.replaced and not self._begun:
            return
        self._begun = True
        await self._send(message)

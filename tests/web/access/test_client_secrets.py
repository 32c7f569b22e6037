"""The store of client secrets, on a clock of the test's own."""

from dataclasses import dataclass

from web.access import client_secrets
from web.access.client_secrets import MAX_BYTES, MAX_SECRETS, ClientSecrets
from web.wire.values.session_config import SessionConfig

PIRATE = SessionConfig(instructions="Speak like a pirate.")
POET = SessionConfig(instructions="Speak in rhymes.")


@dataclass
class Clock:
    now_s: float = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_secret_is_found_until_it_expires() -> None:
    clock = Clock()
    store = ClientSecrets(clock)
    pirate, poet = store.make(PIRATE, 60), store.make(POET, 600)
    assert pirate is not None
    assert poet is not None
    assert pirate != poet
    assert store.find(["nothing", pirate]) == PIRATE
    clock.now_s += 59.9
    assert (store.find([pirate]), store.find([poet])) == (PIRATE, POET)
    clock.now_s += 0.2
    assert (store.find([pirate]), store.find([poet])) == (None, POET)


def test_similar_keys_are_unknown() -> None:
    store = ClientSecrets(Clock())
    made = store.make(PIRATE, 60)
    assert made is not None
    for key in ("", "ek_", made[:-1], made + "a", made.upper(), made.removeprefix("ek_"), "ek_ä", "ek_\udc80"):
        assert store.find([key]) is None


def test_number_and_size_of_secrets_are_limited() -> None:
    clock = Clock()
    store = ClientSecrets(clock)
    for _ in range(MAX_SECRETS):
        assert store.make(PIRATE, 60) is not None
    assert store.make(PIRATE, 60) is None
    clock.now_s += 61
    assert store.make(PIRATE, 60, MAX_BYTES) is not None
    assert store.make(PIRATE, 60, 1) is None


def test_secret_itself_is_not_kept() -> None:
    store = ClientSecrets(Clock())
    made = store.make(PIRATE, 60)
    assert made is not None
    assert made not in repr(store)
    assert made.removeprefix(client_secrets.PREFIX) not in repr(store)
